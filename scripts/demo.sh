#!/bin/bash
# The main job from nothing: Hermes Agent 0.19.0's source, with macOS litter in
# it, to a tested image, a verified template of the local Cube and a sandbox that is
# then rebuilt and keeps its files, gets public skills and is verified. Starts Docker
# where it is missing and may. All of it stays up; local down ends the local Cube.
#
#   demo.sh
set -euo pipefail
cd "$(dirname "$0")/.."

tag=hermes-studio:demo
work=.cache/demo
did=()

step() { printf '\n== %s\n' "$*" >&2; }
done_step() { did+=("$*"); }

# base prints the image to build from: the real one where it can be pulled, else the stand-in.
base() {
	local real
	real=$(bin/hermesbox config show --output json | sed -n 's/^ *"value": "\(.*sandbox-code:latest\)".*/\1/p' | head -n 1)
	if [ -n "$real" ] && timeout 600 docker pull -q "$real" >/dev/null 2>&1; then
		echo "$real"
		return
	fi
	scripts/standin/base/build.sh "${DOCKER_HOST:-unix:///var/run/docker.sock}" >/dev/null
	echo hermesbox-standin/sandbox-code:bookworm
}

# web_ui prints the flag for the web UI's package: none where the registry has the real one.
web_ui() {
	if command -v npm >/dev/null && npm view hermes-web-ui@0.5.16 version >/dev/null 2>&1; then return; fi
	scripts/standin/webui/make-package.sh "$work/web-ui-standin.tgz"
	echo "--web-ui-package=$work/web-ui-standin.tgz"
}

# ca_bundle prints the flag for a machine that trusts more than the public authorities.
ca_bundle() {
	local bundle
	bundle=$(scripts/test-env.sh ca-bundle)
	if [ -n "$bundle" ]; then echo "--ca-bundle=$bundle"; fi
}

# plain_build builds the same recipe from the same tree as a tar, as it lies on the disk.
plain_build() {
	local docker=docker
	if ! docker buildx version >/dev/null 2>&1 && [ -x /usr/bin/docker ]; then docker=/usr/bin/docker; fi
	scripts/plain-build.sh "$docker" "$work/source" hermes-studio:plain "$@"
}

step "Docker"
scripts/test-env.sh docker
make -s build
mkdir -p "$work"

step "the source of Hermes Agent 0.19.0, with litter as macOS leaves it"
archive=$(scripts/hermes-source.sh)
rm -rf "$work/source"
mkdir -p "$work/source"
tar -xzf "$archive" -C "$work/source" --strip-components 1
clean=$(bin/hermesbox context check --output json "$work/source" 2>/dev/null | sed -n 's/^ *"digest": "\(.*\)",/\1/p')
scripts/plant-litter.sh "$work/source"
bin/hermesbox context check "$work/source"
done_step "source: Hermes Agent 0.19.0 from its source distribution, 8 pieces of litter and 2 look-alikes planted"

step "base image and web UI"
base=$(base)
web_ui=$(web_ui)
case $base in *standin*) done_step "base: $base, a stand-in: the real base cannot be pulled here" ;; *) done_step "base: $base" ;; esac
case $web_ui in *standin*) done_step "web UI: the stand-in package: the npm registry in use lacks hermes-web-ui 0.5.16" ;; *) done_step "web UI: hermes-web-ui 0.5.16 from the npm registry" ;; esac
options=(--base "$base")
for flag in "$web_ui" "$(ca_bundle)"; do if [ -n "$flag" ]; then options+=("$flag"); fi; done

step "hermesbox build"
image=$(cd "$work" && ../../bin/hermesbox build --progress plain -t "$tag" "${options[@]/$work\//}" source)
littered=$(bin/hermesbox image inspect --output json "$image" | sed -n 's/^ *"hermesbox.context.digest": "\(.*\)",/\1/p')
if [ "$clean" != "$littered" ]; then
	echo "demo.sh: the context digest is $littered with litter and $clean without" >&2
	exit 1
fi
done_step "image: $image, tagged $tag; its context is the same with and without the litter"

step "hermesbox image test"
bin/hermesbox image test "$image"
done_step "test: every check passed"

step "the same build with plain tar and docker build"
if plain_build "$base" "${web_ui#--web-ui-package=}" >"$work/plain.log" 2>&1; then
	if bin/hermesbox image test hermes-studio:plain; then
		echo "demo.sh: the plain build passed its test; the litter should have broken it" >&2
		exit 1
	fi
	done_step "compare: the same recipe by plain tar and docker build fails its test: import model_tools breaks on the litter"
else
	tail -n 5 "$work/plain.log" >&2
	done_step "compare: the same recipe by plain tar and docker build does not even build"
fi

step "hermesbox up: the image as a template of the local Cube, tried out and verified"
template=$(cd "$work" && ../../bin/hermesbox up --cube local --progress plain -t "$tag" "${options[@]/$work\//}" source)
bin/hermesbox template show --cube local "$template"
done_step "template: $template on the local Cube, verified; the report is in $work/.hermesbox/reports"

step "public skills on the node"
rm -rf "$work/skills"
cp -R skills/public "$work/skills"
bin/hermesbox skills lint "$work/skills"
bin/hermesbox skills deploy --cube local "$work/skills"
done_step "skills: $(ls "$work/skills" | wc -l) public on the node, linked into each new sandbox"

step "a sandbox with a home and a workspace"
sandbox=$(bin/hermesbox sandbox create --cube local --home demo --workspace demo)
bin/hermesbox sandbox exec --cube local demo -- sh -c 'echo "kept in the home" >/root/.hermes/note; echo "kept in the workspace" >/workspace/note'
bin/hermesbox sandbox ls --cube local
done_step "sandbox: $sandbox, with the home and the workspace demo, its Web UI answers"

step "the same sandbox, rebuilt"
rebuilt=$(bin/hermesbox sandbox rebuild --cube local demo)
notes=$(bin/hermesbox sandbox exec --cube local demo -- cat /root/.hermes/note /workspace/note)
printf '%s\n' "$notes" >&2
if [ "$rebuilt" = "$sandbox" ] || [ "$notes" != $'kept in the home\nkept in the workspace' ]; then
	echo "demo.sh: the rebuilt sandbox $rebuilt lacks what was written in $sandbox" >&2
	exit 1
fi
url=$(bin/hermesbox sandbox url --cube local demo)
done_step "rebuild: $rebuilt has taken its name, and has the same files"

step "a public skill is updated, and another is new"
echo 'This line came with an update.' >>"$work/skills/hermes-sandbox/SKILL.md"
mkdir "$work/skills/demo-notes"
printf -- '---\nname: demo-notes\ndescription: A skill of the demo.\n---\n# Notes\n' >"$work/skills/demo-notes/SKILL.md"
bin/hermesbox skills deploy --cube local "$work/skills"
updated=$(bin/hermesbox sandbox exec --cube local demo -- tail -n 1 /root/.hermes/skills/hermes-sandbox/SKILL.md)
bin/hermesbox skills refresh --cube local demo
listed=$(bin/hermesbox sandbox exec --cube local demo -- sh -c 'COLUMNS=200 hermes skills list')
if [ "$updated" != 'This line came with an update.' ] || [ "$(grep -cE ' (hermes-sandbox|demo-notes) ' <<<"$listed")" != 2 ]; then
	echo "demo.sh: the sandbox has not got the new skills" >&2
	exit 1
fi
bin/hermesbox skills status --cube local
done_step "skills: the update was seen at once, the new one after a refresh, and Hermes lists each once"

step "hermesbox verify demo"
bin/hermesbox verify --cube local demo
done_step "verify: every check of the sandbox demo passed, or says why it was skipped"

step "what was done"
printf '%s\n' "${did[@]}"
echo
echo "image: $image"
echo "template: $template"
echo "report: $(ls -t "$work"/.hermesbox/reports/*.json | head -n 1)"
echo "sandbox: demo ($rebuilt)"
echo "Web UI: $url (bin/hermesbox sandbox open --cube local demo opens it, signed in)"
echo "bin/hermesbox local down ends the local Cube and removes its sandboxes; homes and workspaces stay"
