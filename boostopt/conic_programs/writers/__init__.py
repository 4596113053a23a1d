"""Writers of files of programs, one file a format. Each file is read back and compared before it is written."""
