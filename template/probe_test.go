package template

import "github.com/hermesbox/hermesbox/internal/cube"

func probe(port int, path string) *cube.Probe { return &cube.Probe{Port: port, Path: path} }
