/**
 * The file that tells a client where a cluster is, whom to trust and who it is.
 */

/** What a kubeconfig says; certificates and keys are PEM. */
export interface Access {
  readonly server: string
  /** The certificate of the authority that signed the server's; absent: the system's trust. */
  readonly ca: string | undefined
  readonly user: string
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly token?: string | undefined
}

/** A kubeconfig (YAML) with one cluster, one user and one context, all data inside it. */
export const render = (access: Access): string => {
  const line = (name: string, value: string | undefined): ReadonlyArray<string> =>
    value === undefined ? [] : [`${name}: ${value}`]
  const cluster = [
    ...line("server", JSON.stringify(access.server)),
    ...line("certificate-authority-data", encoded(access.ca))
  ]
  const user = [
    ...line("client-certificate-data", encoded(access.cert)),
    ...line("client-key-data", encoded(access.key)),
    ...line("token", access.token === undefined ? undefined : JSON.stringify(access.token))
  ]
  return `apiVersion: v1
kind: Config
clusters:
  - name: envtest
    cluster:
      ${cluster.join("\n      ")}
users:
  - name: ${JSON.stringify(access.user)}
    user:
      ${user.join("\n      ")}
contexts:
  - name: envtest
    context:
      cluster: envtest
      user: ${JSON.stringify(access.user)}
current-context: envtest
`
}

const encoded = (pem: string | undefined): string | undefined =>
  pem === undefined ? undefined : Buffer.from(pem).toString("base64")
