"""What the agent of a node sends of the machine itself."""

from generator.components.component import Manifest
from generator.components.zabbix.export import condition, discovery, graph, integer, item, template, text, trigger

NODE = "gen node"

SIZE = "vfs.fs.size[{#FSNAME},pused]"
INODES = "vfs.fs.inode[{#FSNAME},pfree]"


def node() -> Manifest:
    """CPU, memory and file systems of the host, which the agent sees below /host."""
    return template(
        NODE,
        "A node's CPU, memory and file systems",
        macros={"{$CPU.MAX}": "95", "{$MEMORY.MIN}": "5", "{$DISK.MAX}": "85", "{$DISK.FULL}": "95"},
        items=[*machine(), *processors(), *memory()],
        discovery_rules=[filesystems()],
    )


def machine() -> list[Manifest]:
    """Whether the node is there."""
    silent = trigger("No data from the node for 5 minutes", "nodata(/@/agent.ping,5m)=1", "HIGH")
    started = trigger("The node was started again", "last(/@/system.uptime)<10m", "INFO", manual_close="YES")
    return [
        integer(item("agent.ping", "Agent answers", triggers=[silent])),
        integer(item("system.uptime", "Uptime", units="uptime", triggers=[started])),
        text(item("system.sw.os", "Operating system", delay="1h")),
    ]


def processors() -> list[Manifest]:
    """Return items of the CPU. A GPU node's CPUs may be busy for hours, which is no fault."""
    busy = trigger("CPUs are busy for an hour", "min(/@/system.cpu.util,1h)>{$CPU.MAX}", "WARNING")
    return [
        item("system.cpu.util", "CPU utilization", units="%", triggers=[busy]),
        item("system.cpu.util[,iowait]", "CPU waits for input and output", units="%"),
        item("system.cpu.load[all,avg5]", "Load of 5 minutes"),
        integer(item("system.cpu.num", "CPUs", delay="1h")),
    ]


def memory() -> list[Manifest]:
    """Return items of the memory."""
    short = trigger("Memory is short", "max(/@/vm.memory.size[pavailable],5m)<{$MEMORY.MIN}", "AVERAGE")
    return [
        integer(item("vm.memory.size[total]", "Memory", units="B", delay="1h")),
        integer(item("vm.memory.size[available]", "Memory available", units="B")),
        item("vm.memory.size[pavailable]", "Memory available, share", units="%", triggers=[short]),
    ]


def filesystems() -> Manifest:
    """Find what is mounted on the host, without what the kubelet and the container runtime mount for pods."""
    pods = "^/host/(run|var/lib/(kubelet|containerd|containers))/"
    conditions = [
        condition("{#FSTYPE}", "^(ext[234]|xfs|btrfs|vfat)$", "C"),
        condition("{#FSNAME}", "^/host(/|$)", "A"),
        condition("{#FSNAME}", pods, "B", operator="NOT_MATCHES_REGEX"),
    ]
    full = [
        trigger("{#FSNAME} is nearly full", f"min(/@/{SIZE},10m)>{{$DISK.MAX}}", "WARNING"),
        trigger("{#FSNAME} is full", f"min(/@/{SIZE},10m)>{{$DISK.FULL}}", "HIGH"),
    ]
    few = [trigger("{#FSNAME} has few inodes left", f"max(/@/{INODES},10m)<5", "AVERAGE")]
    return discovery(
        "vfs.fs.discovery",
        "File systems",
        delay="1h",
        filter={"evaltype": "AND", "conditions": conditions},
        item_prototypes=[
            item(SIZE, "{#FSNAME}: space used", units="%", trigger_prototypes=full),
            item(INODES, "{#FSNAME}: inodes free", units="%", trigger_prototypes=few),
        ],
        graph_prototypes=[graph("{#FSNAME}: space used", SIZE)],
    )
