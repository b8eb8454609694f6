package sandbox

import (
	"bytes"
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/envd"
)

//go:embed default_inside.sh
var insideScript string

// copyInside runs insideScript and sees to the settings that it copied.
func copyInside(ctx context.Context, service *envd.Client) ([]string, error) {
	out, said := &answer.Buffer{Left: answerLimit}, &answer.Buffer{Left: 64 << 10}
	cmd := envd.Command{Path: "/bin/sh", Args: []string{"-c", insideScript, "sh", seedMount}, Dir: "/", KillOnCancel: true}
	exit, err := service.Run(ctx, cmd, nil, envd.Output{Stdout: out, Stderr: said})
	switch {
	case err != nil:
		return nil, fmt.Errorf("copying the image's home: %w", err)
	case exit.Code != 0 && exit.Code != refused:
		return nil, fmt.Errorf("copying the image's home: %s: %s", exit, firstLine(said.String()))
	}
	left, config := []string{}, ""
	err = nodeScript{}.read("", out.Bytes(), func(a answer.Pair) error {
		switch a.Key {
		case "left":
			left = append(left, a.Value)
		case "config":
			config = a.Value
		default:
			return a.Odd()
		}
		return nil
	})
	if err == nil {
		err = settleConfig(ctx, service, []byte(config))
	}
	if err != nil {
		return nil, fmt.Errorf("copying the image's home: %w", err)
	}
	return left, nil
}

// settleConfig refuses settings with a secret, and adds where the public skills
// are to those that do not say so: without it Hermes warns of each, and
// overwrites one through the overlay's link.
func settleConfig(ctx context.Context, service *envd.Client, config []byte) error {
	if secret, err := secretIn(config); err != nil || secret != "" {
		return errors.Join(err, secretError(secret))
	}
	with, err := withSkills(config)
	if err != nil || bytes.Equal(with, config) {
		return err
	}
	return service.Put(ctx, seedMount+"/config.yaml", 0o600, bytes.NewReader(with))
}

func secretError(name string) error {
	if name == "" {
		return nil
	}
	return fmt.Errorf("%w: config.yaml sets %s", ErrSecretInImage, name)
}

// ErrSecretInImage means that the image's home holds a secret, which every home
// would get.
var ErrSecretInImage = errors.New("the image's home holds a secret")
