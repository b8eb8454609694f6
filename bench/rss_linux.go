package main

// maxrssUnit is what getrusage counts resident memory in.
const maxrssUnit = 1024
