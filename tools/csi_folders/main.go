// A CSI driver whose volumes are folders of the machine, and whose snapshots are copies of them: what stands for Ceph's
// drivers where no Ceph is. csi_folders NAME NODE FOLDER SOCKET REGISTRATION serves as the driver NAME on the node NODE,
// with all it holds in FOLDER, on the socket SOCKET, and lets kubelet find it by the socket REGISTRATION.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer
	name, node, folder, socket string
}

func main() {
	made := &driver{name: os.Args[1], node: os.Args[2], folder: os.Args[3], socket: os.Args[4]}
	server := grpc.NewServer(grpc.UnaryInterceptor(told))
	csi.RegisterIdentityServer(server, made)
	csi.RegisterControllerServer(server, made)
	csi.RegisterNodeServer(server, made)
	registration.RegisterRegistrationServer(server, made)
	go serve(server, os.Args[5])
	serve(server, made.socket)
}

func serve(server *grpc.Server, socket string) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Serve(listener))
}

// A failure is told where the driver's log is, too; secrets are in requests alone.
func told(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, request)
	if err != nil {
		log.Print(info.FullMethod, ": ", err)
	}
	return answer, err
}

// Of what a person made: an id is a name that the sidecars made, and must not lead out of the folder.
func (one *driver) path(kind, id string) (string, error) {
	if id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return "", status.Errorf(codes.InvalidArgument, "%q is no id", id)
	}
	return filepath.Join(one.folder, kind, id), nil
}

// Whole or not at all, and once: a call is repeated until it is answered.
func whole(target string, fill func(string) error) error {
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	part := target + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		return err
	}
	if err := fill(part); err != nil {
		return err
	}
	return os.Rename(part, target)
}

func copied(source string) func(string) error {
	return func(target string) error {
		said, err := exec.Command("cp", "--archive", source, target).CombinedOutput()
		if err != nil {
			return status.Errorf(codes.NotFound, "%s: %s", source, said)
		}
		return nil
	}
}

// As root of a fresh file system is: only root writes until somebody changes that, as kubelet does for an fsGroup.
func empty(target string) error {
	return os.Mkdir(target, 0o755)
}

func (one *driver) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	target, err := one.path("volumes", request.Name)
	if err != nil {
		return nil, err
	}
	fill := empty
	if snapshot := request.GetVolumeContentSource().GetSnapshot(); snapshot != nil {
		source, err := one.path("snapshots", snapshot.SnapshotId)
		if err != nil {
			return nil, err
		}
		fill = copied(source)
	}
	if err := whole(target, fill); err != nil {
		return nil, err
	}
	volume := &csi.Volume{
		VolumeId:      request.Name,
		CapacityBytes: request.GetCapacityRange().GetRequiredBytes(),
		ContentSource: request.VolumeContentSource,
	}
	return &csi.CreateVolumeResponse{Volume: volume}, nil
}

func (one *driver) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	target, err := one.path("volumes", request.VolumeId)
	if err == nil {
		err = os.RemoveAll(target)
	}
	return &csi.DeleteVolumeResponse{}, err
}

func (one *driver) CreateSnapshot(_ context.Context, request *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	target, err := one.path("snapshots", request.Name)
	if err != nil {
		return nil, err
	}
	source, err := one.path("volumes", request.SourceVolumeId)
	if err != nil {
		return nil, err
	}
	if err := whole(target, copied(source)); err != nil {
		return nil, err
	}
	snapshot := &csi.Snapshot{
		SnapshotId:     request.Name,
		SourceVolumeId: request.SourceVolumeId,
		CreationTime:   timestamppb.Now(),
		ReadyToUse:     true,
	}
	return &csi.CreateSnapshotResponse{Snapshot: snapshot}, nil
}

func (one *driver) DeleteSnapshot(_ context.Context, request *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	target, err := one.path("snapshots", request.SnapshotId)
	if err == nil {
		err = os.RemoveAll(target)
	}
	return &csi.DeleteSnapshotResponse{}, err
}

func (one *driver) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	source, err := one.path("volumes", request.VolumeId)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(request.TargetPath, 0o750); err != nil {
		return nil, err
	}
	if mounted(request.TargetPath) {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := unix.Mount(source, request.TargetPath, "", unix.MS_BIND, ""); err != nil {
		return nil, err
	}
	if request.Readonly {
		err = unix.Mount("", request.TargetPath, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	return &csi.NodePublishVolumeResponse{}, err
}

func mounted(path string) bool {
	table, err := os.ReadFile("/proc/self/mounts")
	return err == nil && strings.Contains(string(table), " "+path+" ")
}

func (one *driver) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if mounted(request.TargetPath) {
		if err := unix.Unmount(request.TargetPath, 0); err != nil {
			return nil, err
		}
	}
	err := os.Remove(request.TargetPath)
	if os.IsNotExist(err) {
		err = nil
	}
	return &csi.NodeUnpublishVolumeResponse{}, err
}

func (one *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: one.node}, nil
}

func (one *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

func (one *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: one.name, VendorVersion: "1"}, nil
}

func (one *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (one *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	offered := []*csi.PluginCapability{{Type: &csi.PluginCapability_Service_{Service: service}}}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: offered}, nil
}

func (one *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	offered := []*csi.ControllerServiceCapability{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
	} {
		rpc := &csi.ControllerServiceCapability_RPC{Type: kind}
		offered = append(offered, &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}})
	}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: offered}, nil
}

func (one *driver) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              one.name,
		Endpoint:          one.socket,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (one *driver) NotifyRegistrationStatus(_ context.Context, said *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !said.PluginRegistered {
		log.Print("kubelet did not take the driver: ", said.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
