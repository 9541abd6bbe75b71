/** The process of `S3Server`. Its arguments are the port, the folder, the certificate and the key. */
import { readFileSync } from "node:fs"
import { host } from "@homeostat/testkit/envtest/Port"
import S3rver from "s3rver"

const [port = "", directory = "", certificate = "", key = ""] = process.argv.slice(2)

await new S3rver({
  address: host,
  port: Number(port),
  directory,
  cert: readFileSync(certificate),
  key: readFileSync(key),
  silent: true
}).run()
