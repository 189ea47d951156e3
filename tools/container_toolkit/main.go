// What NVIDIA's container toolkit makes of containerd's configuration on a GPU node: toolkit CONFIG DROP-IN file, or
// toolkit CONFIG DROP-IN command CONTAINERD. The same calls as in its cmd/nvidia-ctk-installer.
package main

import (
	"log"
	"os"

	"github.com/NVIDIA/nvidia-container-toolkit/pkg/config/engine/containerd"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/config/toml"
)

func main() {
	top, dropIn := os.Args[1], os.Args[2]
	source := toml.FromFile(top)
	if os.Args[3] == "command" {
		source = toml.FromCommandLine(os.Args[4], "--config", top, "config", "dump")
	}
	config, err := containerd.New(containerd.WithTopLevelConfigPath(top), containerd.WithConfigSource(source))
	check(err)
	for _, name := range []string{"nvidia", "nvidia-cdi", "nvidia-legacy"} {
		check(config.AddRuntime(name, "/usr/local/nvidia/toolkit/nvidia-container-runtime", false))
	}
	config.EnableCDI()
	_, err = config.Save(dropIn)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
