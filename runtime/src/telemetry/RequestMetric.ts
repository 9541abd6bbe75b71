/** The metrics of requests to the API server. */
import { counter, histogram } from "./Metric.ts"

const seconds: ReadonlyArray<number> = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]

const bytes: ReadonlyArray<number> = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216]

/** Requests, including watches and retries. Without a response the code is `<error>`. */
export const requests = counter(
  "rest_client_requests_total",
  "Number of HTTP requests, partitioned by status code, method, and host.",
  ["code", "method", "host"]
)

/** The time from sending to the response, without watches. */
export const duration = histogram(
  "rest_client_request_duration_seconds",
  "Request latency in seconds. Broken down by verb, and host.",
  seconds,
  ["verb", "host"]
)

/** The size of the request body. */
export const requestSize = histogram(
  "rest_client_request_size_bytes",
  "Request size in bytes. Broken down by verb and host.",
  bytes,
  ["verb", "host"]
)

/** The size of the response body, after decompression. */
export const responseSize = histogram(
  "rest_client_response_size_bytes",
  "Response size in bytes. Broken down by verb and host.",
  bytes,
  ["verb", "host"]
)

/** Retries, by the code of the failed attempt. */
export const retries = counter(
  "rest_client_request_retries_total",
  "Number of request retries, partitioned by status code, verb, and host.",
  ["code", "verb", "host"]
)
