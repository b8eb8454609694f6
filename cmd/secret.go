package cmd

import (
	"encoding/csv"
	"strings"

	"github.com/hermesbox/hermesbox/image"
)

// readSecrets reads what --secret names: id=NAME with src=FILE or env=VARIABLE,
// else the variable NAME or the file NAME, as docker buildx does.
func readSecrets(specs []string, getenv func(string) string) ([]image.Secret, error) {
	var secrets []image.Secret
	seen := map[string]bool{}
	for _, spec := range specs {
		fields, err := secretFields(spec)
		if err != nil {
			return nil, err
		}
		id := fields["id"]
		if id == "" || seen[id] {
			return nil, usagef("--secret %q: an id is wanted, and each only once", spec).withHint("write --secret id=NAME,src=FILE")
		}
		seen[id] = true
		secret, err := readSecret(id, fields, getenv)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

func readSecret(id string, fields map[string]string, getenv func(string) string) (image.Secret, error) {
	if variable, ok := fields["env"]; ok {
		value := getenv(variable)
		if value == "" {
			return image.Secret{}, usagef("--secret id=%s: the variable %s is not set", id, variable).withHint("set it, or give src=FILE")
		}
		return image.Secret{ID: id, Value: []byte(value)}, nil
	}
	if path, ok := fields["src"]; ok {
		return image.ReadSecret(id, path)
	}
	if value := getenv(id); value != "" && fields["type"] != "file" {
		return image.Secret{ID: id, Value: []byte(value)}, nil
	}
	return image.ReadSecret(id, id)
}

func secretFields(spec string) (map[string]string, error) {
	parts, err := csv.NewReader(strings.NewReader(spec)).Read()
	if err != nil {
		return nil, usagef("--secret %q: %w", spec, err).withHint("write --secret id=NAME,src=FILE")
	}
	fields := map[string]string{}
	for _, part := range parts {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "source":
			key = "src"
		case "id", "src", "env", "type":
		default:
			return nil, usagef("--secret %q: unknown field %q", spec, key).withHint("write --secret id=NAME,src=FILE or id=NAME,env=VARIABLE")
		}
		fields[key] = value
	}
	return fields, nil
}
