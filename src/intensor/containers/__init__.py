"""Containers of data: arrays, tables, sparse and labelled arrays, in and out alike."""
