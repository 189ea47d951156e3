#!/bin/sh
# Write the file by which other nodes find and trust this cluster: ./discovery.sh, as root, on the first control-plane
# node. It holds a token that ends after two hours: copy it to the nodes that join, never into Git.
set -eu

file=/etc/kubernetes/discovery.conf
admin=/etc/kubernetes/admin.conf
umask 077
cluster() {
  kubectl --kubeconfig "$admin" config view --raw --minify -o jsonpath="{.clusters[0].cluster.$1}"
}
server=$(cluster server)
authority=$(cluster certificate-authority-data)
token=$(kubeadm token create --kubeconfig "$admin" --ttl 2h --description 'joining nodes')
# Not by `kubectl config`: all users of a machine see what its commands are told.
cat >"$file.new" <<end
apiVersion: v1
kind: Config
clusters: [{name: cluster, cluster: {server: "$server", certificate-authority-data: "$authority"}}]
users: [{name: joining, user: {token: "$token"}}]
contexts: [{name: joining, context: {cluster: cluster, user: joining}}]
current-context: joining
end
mv "$file.new" "$file"
echo "made $file: good for two hours"
