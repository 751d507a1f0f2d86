"""What blocks of C consist of beside a kernel, and how loops in them end."""
