# Hermes Agent in login shells, and so in commands run through the command service, which sees no image environment.
export HERMES_DISABLE_LAZY_INSTALLS="${HERMES_DISABLE_LAZY_INSTALLS:-1}"
export HERMES_GATEWAY_NO_SUPERVISE="${HERMES_GATEWAY_NO_SUPERVISE:-1}"
# The home is root's and 0700: another user's hermes keeps to that user's own ~/.hermes.
if [ "$(id -u)" = 0 ]; then
    export HERMES_HOME="${HERMES_HOME:-/root/.hermes}"
fi
