export HERMES_HOME=/root/.hermes
