# For scripts that fetch Debian packages without installing them:
#
#     apt_in FOLDER RELEASE ARCHITECTURE [ARGUMENT...]
#
# runs apt-get with the machine's own settings (mirror, proxy, certificates), but with lists and packages of its own in
# FOLDER.  Nothing counts as installed, so all that a package depends on is fetched too.  It needs no root.

# The machine's mirror of Debian itself; sources of security updates have other names of releases.
debian_mirror() {
    { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | grep -E '/debian/?$' ||
        echo http://deb.debian.org/debian; } | sort -u | head -n 1
}

apt_in() {
    local folder=$1 release=$2 architecture=$3
    shift 3
    if [ ! -e "$folder/status" ]; then
        mkdir -p "$folder"/{lists,archives}/partial
        printf "deb%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) $release main\n" '' -src \
            >"$folder/sources.list"
        : >"$folder/status"
        apt_in "$folder" "$release" "$architecture" -o APT::Update::Error-Mode=any update
    fi
    apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
        -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$folder/lists" -o Dir::State::Status="$folder/status" -o Dir::Cache="$folder" \
        -o APT::Sandbox::User=root -o APT::Install-Recommends=false "$@"
}
