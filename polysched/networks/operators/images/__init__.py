"""What is computed of images: convolutions, pools, other sizes, elements at places between pixels."""
