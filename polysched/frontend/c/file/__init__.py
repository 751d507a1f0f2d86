"""A C file as libclang and the preprocessor see it: source, macros, directives, regions."""
