#!/usr/bin/env bash
# Takes the files of the explorer from their npm packages: bash update.sh
# The packages are checked against the digests below. The files are stored compressed, as they are sent.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# take PACKAGE VERSION SHA512 FILE TARGET
take() {
  npm pack --silent --pack-destination "$work" "$1@$2" >/dev/null
  echo "$3  $work/$1-$2.tgz" | sha512sum --check --quiet
  tar -xzOf "$work/$1-$2.tgz" "package/$4" | gzip -9 -n >"$5.gz"
}

take graphiql 3.8.3 72e3c362d5d5295f3a3eee4f1c15fae3639d8bfb95104db2d49c6ae6b18efd0cb51b6951a7b659edafd3df4473c61b8b496a3dcd46f3ab43f7538f7ffc7d1483 graphiql.min.js graphiql.js
take graphiql 3.8.3 72e3c362d5d5295f3a3eee4f1c15fae3639d8bfb95104db2d49c6ae6b18efd0cb51b6951a7b659edafd3df4473c61b8b496a3dcd46f3ab43f7538f7ffc7d1483 graphiql.min.css graphiql.css
take react 18.3.1 c12fa1020252851d0a844bcf240adfb8f54dd7e1f3d6dd18ea7e632eb1906e46f8bab80f13fd11bdefb590c075bffa16807826e1621c57e8bb176a53563fb689 umd/react.production.min.js react.js
take react-dom 18.3.1 e66e2740aa7ead945bd3d2cd1f9f463380714e1f76e75ff295b2886e97bb4e91b17c9fbd92fe812e42c15c88e3b296e06e720136a948db7b519d3593d2c9d423 umd/react-dom.production.min.js react-dom.js
