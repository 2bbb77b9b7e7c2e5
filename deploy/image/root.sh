#!/bin/sh
# Makes the root of the image's last stage in the folder $1: Node.js, the libraries that it is linked with, and the entries of dpkg by
# which scanners know the versions of these. No shell, no package manager.
set -eu
root=$1
copy() {
  mkdir -p "$root$(dirname "$2")"
  cp "$1" "$root$2"
}

node=$(command -v node)
copy "$node" /usr/local/bin/node
mkdir -p "$root/var/lib/dpkg/status.d"
for library in $(ldd "$node" | grep -o '/[^ ]*'); do
  file=$(readlink -f "$library")
  copy "$file" "$library"
  package=$(dpkg-query --search "*/$(basename "$file")" | head -n 1 | cut -d : -f 1)
  dpkg-query --status "$package" >"$root/var/lib/dpkg/status.d/$package"
  copy "/usr/share/doc/$package/copyright" "/usr/share/doc/$package/copyright"
done
copy /etc/os-release /etc/os-release

mkdir -p "$root/etc"
echo 'usher:x:65532:65532:usher:/var/lib/usher:/nonexistent' >"$root/etc/passwd"
echo 'usher:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
mkdir -m 1777 "$root/tmp"
# For a development start alone. A new volume that is mounted here gets this owner.
mkdir -m 700 -p "$root/var/lib/usher"
chown 65532:65532 "$root/var/lib/usher"
