#!/usr/bin/env python3
"""Build the operators of jobs, once, and print the folder that holds them, as `tools/real.py` does; names choose among
them as there. On two cores and with nothing cached it takes some ten minutes.

As tests run them: where a program has no setting for it, it listens on loopback, and looks for its certificate, which
kubelet would mount, below the folder that it runs in.
"""

import sys

from real import Program, main, wrapped

JOBSET, TRAINER = "sigs.k8s.io/jobset", "github.com/kubeflow/trainer/v2"
MPI, TRAINING = "github.com/kubeflow/mpi-operator", "github.com/kubeflow/training-operator"
KUBERAY = "github.com/ray-project/kuberay/ray-operator"
MOUNTED = ('"/tmp/k8s-webhook-server', '"k8s-webhook-server')
DASHBOARD = "\tdomainName := GetClusterDomainName()\n\theadServiceURL"
HERE = 'if here := os.Getenv("RAY_DASHBOARD"); here != "" {\n\t\treturn here, nil\n\t}\n'

PROGRAMS = (
    Program("jobset", JOBSET, "v0.12.0", JOBSET, wrapped, edits=(("pkg/util/cert/cert.go", *MOUNTED),)),
    Program(
        "mpi-operator",
        MPI,
        "v0.8.2",
        f"{MPI}/cmd/mpi-operator",
        wrapped,
        edits=(
            ("cmd/mpi-operator/app/server.go", "healthCheckPort = 8080", "healthCheckPort = 0"),
            ("cmd/mpi-operator/app/server.go", 'fmt.Sprintf(":%d"', 'fmt.Sprintf("127.0.0.1:%d"'),
        ),
    ),
    Program(
        "kubeflow-trainer",
        TRAINER,
        "v2.2.1",
        f"{TRAINER}/cmd/trainer-controller-manager",
        wrapped,
        edits=(("pkg/util/cert/cert.go", *MOUNTED),),
    ),
    Program(
        "training-operator",
        TRAINING,
        "v1.9.4",
        f"{TRAINING}/cmd/training-operator.v1",
        wrapped,
        edits=(
            ("pkg/cert/cert.go", *MOUNTED),
            (
                "cmd/training-operator.v1/main.go",
                "Port: webhookServerPort,",
                'Host: os.Getenv("WEBHOOK_HOST"), Port: webhookServerPort,',
            ),
        ),
    ),
    # The module of 1.7.0, which is the catalogue's, is not served. Names of Ray heads lead nowhere without DNS.
    Program(
        "kuberay-operator",
        KUBERAY,
        "v1.6.2",
        KUBERAY,
        wrapped,
        edits=(("controllers/ray/utils/util.go", DASHBOARD, f"\t{HERE}{DASHBOARD}"),),
    ),
)


if __name__ == "__main__":
    main(sys.argv[1:], PROGRAMS)
