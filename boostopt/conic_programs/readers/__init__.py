"""Readers of files of programs, one file a format."""
