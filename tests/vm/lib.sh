# SPDX-License-Identifier: MIT
#
# Functions that prepare a guest with the emulated device; sourced by bash scripts.
# The functions and variables that start with vm_ are the interface.

vm_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
vm_build=$(realpath -m "${CNNACC_BUILD:-$vm_top/build}")
vm_cache=${XDG_CACHE_HOME:-$HOME/.cache}/cnnacc

# Processor of the guest, as Debian calls it, and as compilers do.
vm_arch=amd64
vm_triplet=x86_64-linux-gnu
# What scripts/fetch-board made for another processor than the host's, else ''.
vm_board=
# Where programs and cnnacc.ko for the guest are built.
vm_out=$vm_build

# Modules that a guest may need, besides what cnnacc.ko depends on.
vm_base_modules="9p 9pnet_virtio drm_shmem_helper gpu-sched drm_exec drm_gpuvm"
# More modules for the guest, omitted if its kernel lacks them.
vm_spare_modules="virtio_iommu nvme"

# Raise this when the layout of the cached part of the initramfs changes.
vm_base_layout=3

# Messages that a healthy kernel never prints, whether stock or built with checkers.
vm_splat='BUG:|WARNING:|Oops|Kernel panic|general protection fault'
vm_splat="$vm_splat|UBSAN:|KCSAN:|KASAN:|ODEBUG:|unreferenced object|refcount_t:"
vm_splat="$vm_splat|INFO: (task|rcu)|suspicious RCU|possible (circular|recursive|irq)"
vm_splat="$vm_splat|DMA-API: .*(driver|device)|soft lockup|bad (page|unlock)|nobody cared"

vm_die()
{
	echo "$(basename "$0"): $*" >&2
	exit 125
}

vm_path()
{
	PATH=$PATH:/usr/sbin:/sbin "$@"
}

# vm_use_board ARCH TRIPLET: prepares for a guest with another processor.
vm_use_board()
{
	vm_arch=$1
	vm_triplet=$2
	vm_out=$vm_build-$1
	vm_board=$("$vm_top/scripts/fetch-board" "$1") || vm_die "no packages for $1"
	[ -d "$vm_out" ] || vm_die "there is no $vm_out: make ARCH=$1"
}

# vm_find_kernel [DIR]: sets vm_kernel, vm_kver and vm_modroot.  DIR holds
# vmlinuz (or bzImage) and lib/modules/VERSION.  The default is the newest installed stock
# 6.12 kernel.
vm_find_kernel()
{
	local dir=${1:-${vm_board:+$vm_board/kernel}}

	if [ -z "$dir" ]; then
		vm_modroot=/
		vm_kernel=$(ls -v /boot/vmlinuz-6.12*-amd64 2>/dev/null | tail -n 1)
		[ -n "$vm_kernel" ] || vm_die "no 6.12 kernel in /boot:" \
			"scripts/install-packages vm installs one"
		vm_kver=${vm_kernel#/boot/vmlinuz-}
		[ -e "/lib/modules/$vm_kver/modules.dep" ] ||
			vm_die "/lib/modules/$vm_kver/modules.dep is missing"
		return
	fi

	vm_modroot=$(realpath -e "$dir") || vm_die "no directory $dir"
	for vm_kernel in "$vm_modroot"/{vmlinuz,bzImage} ''; do
		[ ! -f "$vm_kernel" ] || break
	done
	[ -n "$vm_kernel" ] || vm_die "neither vmlinuz nor bzImage in $dir"
	vm_kver=$(ls -v "$vm_modroot/lib/modules" 2>/dev/null | tail -n 1)
	[ -n "$vm_kver" ] || vm_die "no lib/modules/VERSION in $dir"
}

# vm_module_files NAME...: prints the files to load for these modules, in order.
vm_module_files()
{
	local name

	for name; do
		vm_path modprobe -d "$vm_modroot" -S "$vm_kver" \
			--show-depends "$name" ||
			vm_die "kernel $vm_kver has no module $name"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# vm_guest_module FILE: prints the path in the guest of a module file of the host.
vm_guest_module()
{
	local name=${1##*/}

	name=${name%.xz}
	name=${name%.zst}
	echo "/lib/modules/$vm_kver/kernel/$name"
}

vm_unpack_module()
{
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -dqc "$1" ;;
	*.gz) gzip -dc "$1" ;;
	*) cat "$1" ;;
	esac >"$2" || vm_die "cannot unpack $1"
}

vm_pack()
{
	(cd "$1" && find . -print0 | LC_ALL=C sort -z |
		cpio --quiet -0 -o -H newc -R 0:0)
}

vm_write_base()
{
	local root=$1 applet file

	mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,run,mnt,root,etc,lib64} \
		"$root"/usr/{bin,sbin,local/bin} "$root/lib/$vm_triplet" \
		"$root/lib/modules/$vm_kver/kernel"
	cp "$vm_busybox" "$root/bin/busybox"
	# The host's can be run here, and has about the same applets.
	for applet in $(busybox --list); do
		[ "$applet" = busybox ] ||
			ln -s busybox "$root/bin/$applet"
	done
	ln -s /bin/env "$root/usr/bin/env"
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n' \
		>"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	install -m 755 "$vm_top/tests/vm/init" "$root/init"
	for file in $(vm_module_files $vm_base_modules
		      vm_module_files $vm_spare_modules 2>/dev/null); do
		vm_unpack_module "$file" "$root$(vm_guest_module "$file")"
	done
	cp "$vm_modroot/lib/modules/$vm_kver"/modules.{builtin,order}* \
		"$root/lib/modules/$vm_kver" 2>/dev/null || true
}

# vm_base: makes and caches the base of the guest: busybox, init and the kernel's modules,
# which rarely change.  Sets vm_base_dir to a directory with tree/ and its archive base.cpio.
vm_base()
{
	local key tmp

	vm_busybox=$(command -v busybox) || vm_die "busybox is not installed:" \
		"scripts/install-packages vm installs it"
	[ -z "$vm_board" ] || vm_busybox=$(find "$vm_board/sysroot" -path "*/bin/busybox" -type f)
	key=$({ echo "$vm_base_layout $vm_base_modules $vm_spare_modules"
		realpath "$vm_kernel" "$vm_busybox" "$vm_modroot/lib/modules/$vm_kver" |
			xargs -d '\n' stat -c '%n %s %Y'
		cat "$vm_top/tests/vm/init"; } | sha256sum | cut -c 1-16)
	vm_base_dir=$vm_cache/guest-$vm_kver-$key
	mkdir -p "$vm_cache"
	exec {vm_lock}>"$vm_cache/guest.lock"
	flock "$vm_lock"
	if [ ! -e "$vm_base_dir/base.cpio" ]; then
		tmp=$(mktemp -d "$vm_cache/tmp.XXXXXX")
		vm_write_base "$tmp/tree"
		vm_pack "$tmp/tree" >"$tmp/base.cpio" ||
			vm_die "cannot pack the initramfs"
		rm -rf "$vm_base_dir"
		mv "$tmp" "$vm_base_dir"
	fi
	exec {vm_lock}>&-
}

# vm_needed FILE...: prints the names of the libraries that programs or libraries name.
vm_needed()
{
	readelf -d "$@" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u
}

# vm_libraries ROOT FILE...: copies the shared libraries of programs for the guest's processor.
vm_libraries()
{
	local root=$1 name lib files

	shift
	if [ -z "$vm_board" ]; then
		for lib in $(ldd "$@" 2>/dev/null |
			     awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u); do
			cp -L "$lib" "$root/lib/$vm_triplet/"
		done
		cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
		return
	fi
	files=$(printf '%s\n' "$@")
	while [ -n "$files" ]; do
		names=$(vm_needed $files)
		files=
		for name in $names; do
			[ ! -e "$root/lib/$vm_triplet/$name" ] || continue
			for lib in "$vm_out/runtime" "$vm_board"/sysroot/{lib,usr/lib}{/$vm_triplet,}; do
				[ ! -e "$lib/$name" ] || break
			done
			cp -L "$lib/$name" "$root/lib/$vm_triplet/" ||
				vm_die "no library $name for $vm_arch"
			files="$files $lib/$name"
		done
	done
	# The dynamic linker is one of them, and is called by its path.
	cp -L "$root/lib/$vm_triplet"/ld-linux-* "$root/lib/"
}

# vm_add_program ROOT FILE...: adds programs and their shared libraries.
vm_add_program()
{
	local root=$1

	shift
	mkdir -p "$root/usr/local/bin" "$root/lib/$vm_triplet" "$root/lib64"
	cp -L "$@" "$root/usr/local/bin/" || vm_die "cannot copy the programs"
	vm_libraries "$root" "$@"
}

# vm_programs: prints the programs for the guest that meson built.
vm_programs()
{
	local dir

	for dir in "$vm_out"/{runtime/tools,examples,tests/kmd,tests/vm,tests/backend/*/guest} \
		"$vm_top/tests/kmd"; do
		[ ! -d "$dir" ] ||
			find "$dir" -maxdepth 1 -type f -perm -100 ! -name '*.so*'
	done
}

# vm_find_module: sets vm_module, unless it is set, to the path of cnnacc.ko, '' if there is
# none.
vm_find_module()
{
	[ -z "$vm_module" ] || return 0
	for vm_module in "$vm_modroot/cnnacc.ko" "$vm_out/driver/cnnacc.ko" \
			 "$vm_out/cnnacc.ko" ${vm_board:-"$vm_top/cnnacc.ko"} ''; do
		[ ! -f "$vm_module" ] || break
	done
}

# vm_add_modules ROOT LOAD SHARE PARAMS: adds cnnacc.ko, the index for modprobe and libkmod,
# and the list of modules that init loads.
vm_add_modules()
{
	local root=$1 load=$2 share=$3 params=$4 dir file names=

	dir=$root/lib/modules/$vm_kver
	mkdir -p "$dir/kernel" "$root/cnnacc"
	# There may be no file: a kernel can have everything built in.
	find "$vm_base_dir/tree/lib/modules/$vm_kver/kernel" -type f \
		-exec ln -s -t "$dir/kernel" {} +
	cp "$vm_base_dir/tree/lib/modules/$vm_kver"/modules.* "$dir/"
	[ -z "$share" ] || names="9p 9pnet_virtio"
	if [ -n "$vm_module" ]; then
		vm_path ${vm_board:+"$vm_triplet-"}strip -g -o "$dir/kernel/cnnacc.ko" "$vm_module"
		[ -z "$load" ] || names="$names $(vm_path modinfo -F depends \
			"$vm_module" | tr , ' ')"
	fi
	for file in $(vm_module_files $names); do
		file=$(vm_guest_module "$file")
		[ -e "$root$file" ] ||
			vm_die "module $file is not among vm_base_modules"
		echo "$file"
	done >"$root/cnnacc/order" || exit
	[ -z "$load" ] || echo "/lib/modules/$vm_kver/kernel/cnnacc.ko $params" \
		>>"$root/cnnacc/order"
	vm_path depmod -b "$root" "$vm_kver"
	find "$dir" -type l -delete
}

# vm_initramfs OUT ROOT: writes an initramfs of the cached base and ROOT.
vm_initramfs()
{
	cp "$vm_base_dir/base.cpio" "$1"
	vm_pack "$2" >>"$1" || vm_die "cannot pack the initramfs"
}

# vm_device_so: sets vm_so to the device for the distribution's QEMU, and builds it if it is
# out of date.
vm_device_so()
{
	local log

	vm_so=${CNNACC_QEMU_SO:-$vm_build/cnnacc-qemu.so}
	[ -z "${CNNACC_QEMU_SO:-}" ] || return 0
	mkdir -p "$vm_build"
	log=$("$vm_top/scripts/build-qemu-device" "$vm_so" 2>&1) ||
		vm_die "cannot build the device for QEMU: $log"
}
