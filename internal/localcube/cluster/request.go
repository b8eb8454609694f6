package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// defaultResources are CubeMaster's where the request has none.
var defaultResources = Resources{CPU: "2000m", Mem: "2000Mi"}

func (o Overrides) resources() Resources {
	if o.Resources == nil {
		return defaultResources
	}
	return *o.Resources
}

const (
	gib           = 1 << 30
	artifactStore = "/data/CubeMaster/storage/"
	annotationID  = "cube.master.appsnapshot.template.id"
)

func newArtifact(spec TemplateSpec, image image) Artifact {
	text, _ := json.Marshal([]any{image.digest, spec.Size, spec.Ports, spec.Network, spec.Overrides, spec.InstanceType}) // plain values
	sum := sha256.Sum256(text)
	fingerprint := hex.EncodeToString(sum[:])
	id := "rfs-" + fingerprint[:24]
	return Artifact{
		ID: id, Fingerprint: fingerprint, ImageRef: spec.Image, ImageDigest: image.digest, MasterIP: "http://127.0.0.1:8089",
		Path: artifactStore + id + "/" + id + ".ext4", SHA256: strings.TrimPrefix(image.id, "sha256:"),
		Bytes: max(gib, (image.size+gib-1)/gib*gib), Size: spec.Size, Status: StatusReady,
	}
}

// createRequest is what a sandbox of the template is made with, in CubeMaster's shape.
func createRequest(id string, spec TemplateSpec, image image, made Artifact) ([]byte, error) {
	request := map[string]any{
		"requestID":     NewUUID(),
		"volumes":       []any{map[string]any{"name": rootVolume, "volume_source": map[string]any{"empty_dir": map[string]any{"size_limit": spec.Size}}}},
		"containers":    []any{requestContainer(spec, image, made)},
		"annotations":   requestAnnotations(id, spec, made),
		"instance_type": or(spec.InstanceType, "cubebox"),
		"network_type":  or(spec.NetworkType, "tap"),
	}
	if spec.Network != nil {
		request[or(spec.NetworkKey, "cube_network_config")] = spec.Network
	}
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("writing the create request: %w", err)
	}
	return text, nil
}

const rootVolume = "cube_rootfs_rw"

func requestContainer(spec TemplateSpec, image image, made Artifact) map[string]any {
	o := spec.Overrides
	token := NewUUID()
	out := map[string]any{
		"name": "cubebox-name-0",
		"image": map[string]any{
			"image": made.ID, "storage_media": "ext4", "writable_layer_size": spec.Size,
			"annotations": map[string]any{
				"cube.master.rootfs.artifact.id": made.ID, "cube.master.rootfs.artifact.sha256": made.SHA256,
				"cube.master.rootfs.artifact.size_bytes": strconv.FormatInt(made.Bytes, 10), "cube.master.rootfs.artifact.token": token,
				"cube.master.rootfs.artifact.url":        made.MasterIP + "/cube/template/artifact/download?artifact_id=" + made.ID + "&token=" + token,
				"cube.master.rootfs.writable_layer_size": spec.Size,
				"cube.master.template.spec_fingerprint":  made.Fingerprint,
			},
		},
		"volume_mounts":    []any{map[string]any{"name": rootVolume, "container_path": "/"}},
		"r_limit":          map[string]any{"no_file": 1000000},
		"resources":        o.resources(),
		"security_context": map[string]any{"privileged": true},
	}
	put(out, "command", first(o.Command, image.config.Entrypoint))
	put(out, "args", first(o.Args, image.config.Cmd))
	put(out, "envs", first(o.Envs, envs(image.config.Env)))
	if dir := or(o.WorkingDir, image.config.WorkingDir); dir != "" {
		out["working_dir"] = dir
	}
	if o.DNS != nil {
		out["dns_config"] = o.DNS
	}
	if o.Probe != nil {
		out["probe"] = o.Probe
	}
	return out
}

func requestAnnotations(id string, spec TemplateSpec, made Artifact) map[string]string {
	out := map[string]string{
		annotationID: id, "cube.master.appsnapshot.template.version": "v2", "cube.master.appsnapshot.version": "v2",
		"cube.master.rootfs.artifact.id": made.ID, "cube.master.rootfs.writable_layer_size": spec.Size,
		"cube.master.template.spec_fingerprint": made.Fingerprint,
	}
	for key, value := range spec.Overrides.Annotations {
		out[key] = value
	}
	if size, ok := wholeGi(spec.Size); ok {
		out["cube.master.system_disk_size"] = strconv.FormatInt(size, 10)
	}
	if len(spec.Ports) > 0 {
		texts := make([]string, len(spec.Ports))
		for i, port := range spec.Ports {
			texts[i] = strconv.Itoa(port)
		}
		out["com.exposed_ports"] = strings.Join(texts, ":")
	}
	return out
}

// envs turns an image's NAME=value list into the request's form.
func envs(list []string) []Env {
	var out []Env
	for _, e := range list {
		key, value, _ := strings.Cut(e, "=")
		out = append(out, Env{key, value})
	}
	return out
}

func put[T any](m map[string]any, key string, list []T) {
	if len(list) > 0 {
		m[key] = list
	}
}

func first[T any](a, b []T) []T {
	if len(a) > 0 {
		return a
	}
	return b
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
