"""What every room may use: types of arrays, checks of arguments, files, text, lazily loaded names."""
