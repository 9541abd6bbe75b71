/**
 * Credentials from a program, as in `user.exec` of a kubeconfig. The program runs without a terminal, gets its request in
 * `KUBERNETES_EXEC_INFO`, and prints an ExecCredential. The credentials are cached until they expire.
 *
 * client-node has this too, but it does not kill a program that hangs, and does not use the Clock.
 */
import * as path from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import { CredentialsError } from "./Cluster.ts"
import type { Issued } from "./Credentials.ts"
import { mapping, type Selected } from "./KubeConfigFile.ts"

/** The timeout of a program. A cloud's token takes a second or two; a browser log-in is not possible here. */
export const timeoutMillis = 30_000

/** More than any credentials. A program that prints more is killed, before it fills the memory. */
const largestBytes = 1 << 20

/** The name of the kubeconfig extension with the cluster's configuration for the program. */
const extension = "client.authentication.k8s.io/exec"

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const clusterInfo = ({ cluster: { file, raw, value } }: Selected) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const caFile = text(value.caFile)
    const ca =
      text(value.caData) ??
      (caFile === undefined
        ? undefined
        : Buffer.from(
            // If the file cannot be read, the connection reports the error.
            yield* Effect.orElseSucceed(fs.readFileString(path.resolve(path.dirname(file), caFile)), () => "")
          ).toString("base64"))
    const config = list(raw.extensions)
      .map(mapping)
      .find(({ name }) => name === extension)?.extension
    return {
      server: value.server,
      ...(value.tlsServerName && { "tls-server-name": value.tlsServerName }),
      ...(value.skipTLSVerify && { "insecure-skip-tls-verify": true }),
      ...(ca && { "certificate-authority-data": ca }),
      ...(value.proxyUrl && { "proxy-url": value.proxyUrl }),
      ...(config !== undefined && { config })
    }
  })

interface Output {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

type Environment = { readonly [name: string]: string | undefined }

/** Runs the program to its end. An interruption kills the program and its child processes. */
const spawn = (command: string, args: ReadonlyArray<string>, env: Environment): Effect.Effect<Output, unknown> =>
  Effect.callback((resume) => {
    try {
      // A new process group, so that the kill also reaches the child processes of a script.
      const child = Bun.spawn([command, ...args], {
        env,
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
        detached: true,
        maxBuffer: largestBytes,
        killSignal: "SIGKILL"
      })
      Promise.all([child.exited, new Response(child.stdout).text(), new Response(child.stderr).text()]).then(
        ([exitCode, stdout, stderr]) => resume(Effect.succeed({ exitCode, stdout, stderr })),
        (error) => resume(Effect.fail(error))
      )
      return Effect.sync(() => {
        try {
          process.kill(-child.pid, "SIGKILL")
        } catch {
          // The process has already ended.
        }
      })
    } catch (error) {
      resume(Effect.fail(error))
      return Effect.void
    }
  })

const firstLine = (words: string): string => words.trim().split("\n")[0] ?? ""

/** The credentials in the output, or a text that says why it has none. */
const issuedOf = (stdout: string, apiVersion: string): Issued | string => {
  let printed: unknown
  try {
    printed = JSON.parse(stdout)
  } catch {
    return "did not print an ExecCredential"
  }
  const { apiVersion: version, kind, status: statusJson } = mapping(printed)
  if ((kind !== undefined && kind !== "ExecCredential") || (version !== undefined && version !== apiVersion)) {
    return `printed ${String(version)} ${String(kind)}, not the ${apiVersion} ExecCredential that it was asked for`
  }
  const status = mapping(statusJson)
  const [token, cert, key] = [status.token, status.clientCertificateData, status.clientKeyData].map(text)
  if (token === undefined && cert === undefined) return "printed neither a token nor a certificate"
  if ((cert === undefined) !== (key === undefined)) return "printed a certificate without a key, or a key alone"
  const expires = text(status.expirationTimestamp)
  const expiresAt = expires === undefined ? undefined : Date.parse(expires)
  if (Number.isNaN(expiresAt)) return `printed expirationTimestamp ${expires}, which is not a time`
  return { authorization: token === undefined ? undefined : `Bearer ${token}`, cert, key, expiresAt }
}

/**
 * The plugin of the selected user, which must have one.
 *
 * @param name the name in messages: the program, the user and the file
 */
export const make = (selected: Selected, exec: { readonly [key: string]: unknown }, file: string, name: string) => {
  const command = text(exec.command) ?? ""
  const apiVersion = text(exec.apiVersion) ?? "client.authentication.k8s.io/v1"
  const failed = (words: string) => new CredentialsError({ message: `${name} ${words}` })
  const hint = text(exec.installHint)

  const run = Effect.gen(function* () {
    if (command === "") return yield* failed("failed: the kubeconfig names no command")
    if (exec.interactiveMode === "Always") return yield* failed("failed: it wants a terminal (interactiveMode: Always)")
    const cluster = exec.provideClusterInfo === true ? yield* clusterInfo(selected) : undefined
    const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false, ...(cluster && { cluster }) } }
    const wanted = list(exec.env).map(mapping)
    const env = {
      ...process.env,
      ...Object.fromEntries(wanted.map(({ name, value }) => [String(name), String(value ?? "")])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info)
    }
    // Like kubectl: a plain name is searched on the PATH, a relative path is relative to the file.
    const located = command.includes("/") ? path.resolve(path.dirname(file), command) : command
    // The timeout also applies where the caller cannot be interrupted: on shutdown, an Event or the Lease may need the credentials.
    const output = yield* Effect.interruptible(spawn(located, list(exec.args).map(String), env)).pipe(
      Effect.mapError((error) => {
        const reason = firstLine(error instanceof Error ? error.message : String(error))
        return failed(`failed: ${reason}${hint === undefined ? "" : ` (${firstLine(hint)})`}`)
      }),
      Effect.timeoutOrElse({
        duration: timeoutMillis,
        orElse: () => Effect.fail(failed(`did not finish within ${timeoutMillis / 1000} s`))
      })
    )
    if (Buffer.byteLength(output.stdout) > largestBytes) return yield* failed("printed more than 1 MiB")
    if (output.exitCode !== 0) {
      return yield* failed(`failed: ${firstLine(output.stderr) || `exit code ${output.exitCode}, no message`}`)
    }
    const issued = issuedOf(output.stdout, apiVersion)
    return typeof issued === "string" ? yield* failed(issued) : issued
  })

  let kept: Issued | undefined
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (kept === undefined || (kept.expiresAt !== undefined && kept.expiresAt <= now)) kept = yield* run
    return kept
  })
}
