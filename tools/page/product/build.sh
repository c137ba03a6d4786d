#!/bin/sh
# product.c -> product.wasm, a library that Python in the page loads by ctypes, into its own memory.
# Needs clang and lld (Debian: apt install clang lld). Writes where the first argument says.
set -e
cd "$(dirname "$0")"
object=$(mktemp)
trap 'rm -f "$object"' EXIT
clang --target=wasm32-unknown-emscripten -O3 -msimd128 -ffp-contract=off -fPIC -ffreestanding \
  -nostdlib -Wall -Wextra -c product.c -o "$object"
wasm-ld -shared --experimental-pic --strip-all "$object" -o "${1:-product.wasm}"
