/**
 * The command lines of a control plane: the flags of controller-runtime's envtest, with loopback addresses only.
 */
import { host } from "./Port.ts"

/** The controllers that tests need. All controllers would take longer to start, and would include cloud and node logic. */
export const controllers: ReadonlyArray<string> = [
  "namespace-controller",
  "garbage-collector-controller",
  "pod-garbage-collector-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "clusterrole-aggregation-controller",
  "root-ca-certificate-publisher-controller",
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "daemonset-controller",
  "job-controller",
  "cronjob-controller",
  "ttl-after-finished-controller",
  "endpoints-controller",
  "endpointslice-controller",
  "disruption-controller",
  "resourcequota-controller",
  "persistentvolume-binder-controller",
  "persistentvolumeclaim-protection-controller",
  "certificatesigningrequest-approving-controller",
  "certificatesigningrequest-signing-controller"
]

/**
 * etcd, without the disk syncs that only durable data needs. The election timeout is the shortest, because even a single member waits for
 * it (saves 0.7 s).
 */
export const etcd = (port: number, dataDirectory: string): ReadonlyArray<string> => [
  `--data-dir=${dataDirectory}`,
  `--listen-client-urls=http://${host}:${port}`,
  `--advertise-client-urls=http://${host}:${port}`,
  `--listen-peer-urls=http://${host}:0`,
  "--unsafe-no-fsync=true",
  "--heartbeat-interval=10",
  "--election-timeout=100"
]

/** The files in the flags. */
export interface Files {
  readonly authorityCertificate: string
  readonly authorityKey: string
  readonly servingCertificate: string
  readonly servingKey: string
  readonly serviceAccountPublic: string
  readonly serviceAccountPrivate: string
}

/**
 * kube-apiserver. Two admission plugins are off, because the controllers that they depend on may not run.
 * ServiceAccount needs a service account in each namespace; the option `tokens` enables it. TaintNodesByCondition taints new nodes until
 * a node-lifecycle controller finds them ready.
 */
export const apiServer = (options: {
  readonly port: number
  readonly etcdPort: number
  readonly files: Files
  readonly audit: { readonly policy: string; readonly log: string } | undefined
  readonly tokens: boolean
}): ReadonlyArray<string> => [
  `--etcd-servers=http://${host}:${options.etcdPort}`,
  `--bind-address=${host}`,
  `--secure-port=${options.port}`,
  `--tls-cert-file=${options.files.servingCertificate}`,
  `--tls-private-key-file=${options.files.servingKey}`,
  `--client-ca-file=${options.files.authorityCertificate}`,
  "--service-cluster-ip-range=10.0.0.0/12",
  "--allow-privileged=true",
  "--authorization-mode=RBAC",
  `--disable-admission-plugins=${options.tokens ? "" : "ServiceAccount,"}TaintNodesByCondition`,
  `--service-account-issuer=https://${host}:${options.port}/`,
  `--service-account-key-file=${options.files.serviceAccountPublic}`,
  `--service-account-signing-key-file=${options.files.serviceAccountPrivate}`,
  ...(options.audit === undefined
    ? []
    : [
        `--audit-policy-file=${options.audit.policy}`,
        `--audit-log-path=${options.audit.log}`,
        "--audit-log-format=json"
      ])
]

/** kube-controller-manager, without leader election and without a serving port. */
export const controllerManager = (
  kubeconfig: string,
  files: Files,
  chosen: ReadonlyArray<string>
): ReadonlyArray<string> => [
  `--kubeconfig=${kubeconfig}`,
  `--service-account-private-key-file=${files.serviceAccountPrivate}`,
  `--root-ca-file=${files.authorityCertificate}`,
  `--cluster-signing-cert-file=${files.authorityCertificate}`,
  `--cluster-signing-key-file=${files.authorityKey}`,
  `--controllers=${chosen.join(",")}`,
  "--leader-elect=false",
  "--secure-port=0"
]

/** kube-scheduler, without leader election and without a serving port. */
export const scheduler = (kubeconfig: string): ReadonlyArray<string> => [
  `--kubeconfig=${kubeconfig}`,
  "--leader-elect=false",
  "--secure-port=0"
]

/** kwok, which simulates every node of the cluster. */
export const kwok = (kubeconfig: string, stages: string): ReadonlyArray<string> => [
  `--kubeconfig=${kubeconfig}`,
  `--config=${stages}`,
  "--manage-all-nodes=true"
]

/** Writes one line in the audit log per response: the user, the request, the time and the Audit-ID. */
export const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }]
})
