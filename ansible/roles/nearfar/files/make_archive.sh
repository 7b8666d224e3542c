#!/bin/sh
# Make ARCHIVE of the checkout SOURCE: of what is committed where it is a git clone, else of all that is no build, run or environment.
# The same content gives the same bytes. Leaves an ARCHIVE alone that is the same already. Prints its SHA-256.
set -eu
source=$1 archive=$2
if [ ! -x "$source/validate" ]; then
    echo "$source: no checkout of nearfar there; set nearfar_source, or nearfar_archive" >&2
    exit 2
fi
mkdir -p "$(dirname "$archive")"
fresh=$archive.$$
trap 'rm -f "$fresh" "$fresh.gz"' EXIT
if [ -e "$source/.git" ]; then
    git -C "$source" archive --format=tar HEAD >"$fresh"
else
    tar -C "$source" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --exclude=./.venv --exclude=./build \
        --exclude='./reports/*' --exclude=__pycache__ --exclude=./.nearfar-pack.json -cf "$fresh" .
fi
gzip -n "$fresh"
cmp -s "$fresh.gz" "$archive" || mv "$fresh.gz" "$archive"
sha256sum "$archive" | cut -c 1-64
