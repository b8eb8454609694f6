#!/bin/bash
# The main job from nothing: Hermes Agent 0.19.0's source, with macOS litter in
# it, to a verified template of the local Cube, with a model endpoint of its own;
# then a sandbox that keeps its files over a rebuild and gets public skills, and
# breakages that verify has to see. Starts Docker where it is missing and may. All
# of it stays up.
#
#   demo.sh         makes it, again too
#   demo.sh down    ends the local Cube and the model endpoint
#
# HERMESBOX_DEMO_BASE names the base image where neither the real one can be
# pulled nor the stand-in made; HERMESBOX_DEMO_PORT the port of the model endpoint.
set -euo pipefail
cd "$(dirname "$0")/.."

work=.cache/demo
config=$work/hermesbox.yaml
standin=hermesbox-standin/sandbox-code:bookworm
did=()

step() { printf '\n== %s\n' "$*" >&2; }
done_step() { did+=("$*"); }
die() {
	echo "demo.sh: $*" >&2
	exit 1
}
hb() { bin/hermesbox --config "$config" "$@"; }
bare() { bin/hermesbox --config /dev/null "$@"; } # before there is a configuration

# limited runs a command for a while at most, where the machine can.
limited() { if command -v timeout >/dev/null; then timeout "$@"; else "${@:2}"; fi; }

# base prints the image to build from: the real one where it can be pulled, else the stand-in.
base() {
	local real
	if [ -n "${HERMESBOX_DEMO_BASE:-}" ]; then
		echo "$HERMESBOX_DEMO_BASE"
		return
	fi
	real=$(bare config show --output json | sed -n 's/^ *"value": "\(.*sandbox-code:latest\)".*/\1/p' | head -n 1)
	if [ -n "$real" ] && limited 600 docker pull -q "$real" >/dev/null 2>&1; then
		echo "$real"
		return
	fi
	echo "the real base cannot be pulled here; making its stand-in takes minutes the first time, see $work/base.log" >&2
	if ! scripts/standin/base/build.sh "$(docker context inspect --format '{{.Endpoints.docker.Host}}')" >"$work/base.log" 2>&1 &&
		! docker image inspect "$standin" >/dev/null 2>&1; then
		tail -n 3 "$work/base.log" >&2
		die "$real cannot be pulled, and its stand-in is made on Debian 12 as root only: load one into the Engine, or name another base with HERMESBOX_DEMO_BASE"
	fi
	echo "$standin"
}

# registry_has_web_ui asks the npm registry, where npm is, for the version that the recipe installs.
registry_has_web_ui() { command -v npm >/dev/null && npm view hermes-web-ui@0.5.16 version >/dev/null 2>&1; }

# settings writes the demo's hermesbox.yaml: what this machine needs, and the model endpoint.
settings() {
	local base=$1 web_ui=$2 model=$3 bundle host
	bundle=$(scripts/test-env.sh ca-bundle)
	host=${model#http://}
	cat <<-YAML
		# Made by make demo.
		source: source
		image:
		  name: hermes-studio-demo
		  base: "$base"
		  ca_bundle: "$bundle"
		  web_ui: {package: "$web_ui"}
		cube: {engine: local}
		template:
		  name: hermes-studio-demo
		  egress: {allow: ["${host%%:*}/32"]}
		sandbox:
		  model_endpoints: ["$model"]
		skills: {source: skills}
	YAML
}

# plain_build builds the same recipe from the same tree as a tar, as it lies on the disk.
plain_build() {
	local docker=docker
	if ! docker buildx version >/dev/null 2>&1 && [ -x /usr/bin/docker ]; then docker=/usr/bin/docker; fi
	scripts/plain-build.sh "$docker" "$work/source" hermes-studio:plain "$@"
}

if [ "${1:-}" = down ] && [ $# = 1 ]; then
	if [ ! -x bin/hermesbox ]; then make -s build; fi
	bin/hermesbox local down --yes
	scripts/demo/model.sh stop
	exit
elif [ $# != 0 ]; then
	echo "usage: demo.sh [down]" >&2
	exit 2
fi

step "Docker"
scripts/test-env.sh docker
make -s build
mkdir -p "$work"

step "the source of Hermes Agent 0.19.0, with litter as macOS leaves it"
archive=$(scripts/hermes-source.sh)
rm -rf "$work/source"
mkdir -p "$work/source"
tar -xzf "$archive" -C "$work/source" --strip-components 1
clean=$(bare context check --output json "$work/source" 2>/dev/null | sed -n 's/^ *"digest": "\(.*\)",/\1/p')
scripts/plant-litter.sh "$work/source"
bare context check "$work/source" | sed '/^largest/,$d'
done_step "source: Hermes Agent 0.19.0 from its source distribution, 8 pieces of litter and 2 look-alikes planted"

step "base image and web UI"
base=$(base)
case $base in *standin*) done_step "base: $base, a stand-in: the real base cannot be pulled here" ;; *) done_step "base: $base" ;; esac
web_ui=""
if registry_has_web_ui; then
	done_step "web UI: hermes-web-ui 0.5.16 from the npm registry"
else
	web_ui=web-ui-standin.tgz
	scripts/standin/webui/make-package.sh "$work/$web_ui"
	done_step "web UI: the stand-in package: npm does not find hermes-web-ui 0.5.16 here"
fi

step "a model endpoint, which sandboxes reach only where their template allows it"
model=$(scripts/demo/model.sh start "$base")
settings "$base" "$web_ui" "$model" >"$config"
hb template lint

step "hermesbox up: image, template and default home, tried out and verified"
template=$(hb up)
image=$(hb template show --output json "$template" | sed -n 's/^ *"image": "\(.*\)",/\1/p' | head -n 1)
littered=$(hb image inspect --output json "$image" | sed -n 's/^ *"hermesbox.context.digest": "\(.*\)",/\1/p')
if [ "$clean" != "$littered" ]; then die "the context digest is $littered with litter and $clean without"; fi
done_step "up: image $image, template $template, verified; the context is the same with and without the litter"

step "hermesbox up, again"
again=$(hb up 2>"$work/again.log") || { cat "$work/again.log" >&2 && exit 1; }
cat "$work/again.log" >&2
if [ "$again" != "$template" ] || ! grep -q 'nothing was done' "$work/again.log"; then die "the second up did something"; fi
done_step "up again: nothing changed, nothing was done"

step "public skills on the node"
rm -rf "$work/skills"
cp -R skills/public "$work/skills"
hb skills lint >"$work/lint.log" || { cat "$work/lint.log" && exit 1; }
hb skills deploy
done_step "skills: $(ls "$work/skills" | wc -l | tr -d ' ') public on the node, linked into each new sandbox"

step "a sandbox with a home and a workspace"
if hb sandbox show demo >/dev/null 2>&1; then hb sandbox stop demo >/dev/null; fi # of an earlier run
sandbox=$(hb sandbox create --home demo --workspace demo)
scripts/demo/breakages.sh mend "$config" demo
hb sandbox exec demo -- sh -ec 'echo "kept in the home" >/root/.hermes/note; echo "kept in the workspace" >/workspace/note'
hb sandbox ls
done_step "sandbox: $sandbox, with the home and the workspace demo, its Web UI answers"

step "a turn of the agent in it, with the model that its home names"
hb sandbox exec demo -- sh -ec "hermes config set model.provider custom; hermes config set model.base_url $model
	hermes config set model.default stub; hermes config set model.api_key $(scripts/demo/model.sh key)"
word=$(hb sandbox exec demo -- hermes chat -Q -q ping 2>/dev/null)
echo "$word"
if [[ $word != *pong* ]]; then die "the agent did not answer what the model said"; fi
done_step "agent: it answered what the model endpoint said"

step "the same sandbox, rebuilt"
rebuilt=$(hb sandbox rebuild demo)
notes=$(hb sandbox exec demo -- cat /root/.hermes/note /workspace/note)
printf '%s\n' "$notes"
if [ "$rebuilt" = "$sandbox" ] || [ "$notes" != $'kept in the home\nkept in the workspace' ]; then
	die "the rebuilt sandbox $rebuilt lacks what was written in $sandbox"
fi
done_step "rebuild: $rebuilt has taken its name, and has the same files"

step "a public skill is updated, and another is new"
echo 'This line came with an update.' >>"$work/skills/hermes-sandbox/SKILL.md"
mkdir "$work/skills/demo-notes"
printf -- '---\nname: demo-notes\ndescription: A skill of the demo.\n---\n# Notes\n' >"$work/skills/demo-notes/SKILL.md"
hb skills deploy
updated=$(hb sandbox exec demo -- tail -n 1 /root/.hermes/skills/hermes-sandbox/SKILL.md)
hb skills refresh demo
listed=$(hb sandbox exec demo -- sh -c 'COLUMNS=200 hermes skills list')
if [ "$updated" != 'This line came with an update.' ] || [ "$(grep -cE ' (hermes-sandbox|demo-notes) ' <<<"$listed")" != 2 ]; then
	die "the sandbox has not got the new skills"
fi
hb skills status
done_step "skills: the update was seen at once, the new one after a refresh, and Hermes lists each once"

step "breakage: the same tree by plain tar and docker build"
if plain_build "$base" "${web_ui:+$work/$web_ui}" >"$work/plain.log" 2>&1; then
	plain=$(hb image test hermes-studio:plain 2>/dev/null) && die "the plain build passed its test; the litter should have broken it"
	told='^[a-z]+ +(litter|agent-import|agent-version) '
	awk -v told="$told" '$0 ~ told { print; mine = 1; next } mine && /→/ { print } { mine = 0 }' <<<"$plain"
	grep -q '^fail  agent-import ' <<<"$plain" || die "the plain build's agent works; the litter should have broken it"
	done_step "breakage: the same recipe by plain tar and docker build fails its test"
else
	tail -n 5 "$work/plain.log"
	done_step "breakage: the same recipe by plain tar and docker build does not even build"
fi

step "breakages in the sandbox, each undone; verify has to see them"
scripts/demo/breakages.sh run "$config" demo
done_step "breakages: verify saw each of them"

step "what was done"
printf '%s\n' "${did[@]}"

step "the report: hermesbox verify demo"
hb verify demo
cat <<-END

	report:  $(ls -t "$work"/.hermesbox/reports/*.json | head -n 1) is that of up, with rebuild and isolation
	sandbox: demo ($rebuilt), made from $template
	Web UI:  $(hb sandbox url demo)
	         bin/hermesbox --config $config sandbox open demo    opens it, signed in
	         make demo-down    ends the local Cube and the model endpoint; homes and workspaces stay
END
