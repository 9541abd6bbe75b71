import { describe, expect, test } from "bun:test"
import * as Accept from "./Accept.ts"

const text = { mediaType: "text/plain", version: "0.0.4" }
const open = { mediaType: "application/openmetrics-text", version: "1.0.0" }

const protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

describe("Accept chooses", () => {
  const cases: ReadonlyArray<readonly [what: string, header: string | null, wanted: typeof text]> = [
    ["text without an Accept header", null, text],
    ["text for any type", "*/*", text],
    ["text for a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", text],
    ["text if no format is accepted", "application/json", text],
    ["text if all formats are rejected", "*/*;q=0", text],
    [
      "OpenMetrics for Prometheus 3",
      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
      open
    ],
    [
      "OpenMetrics for a Prometheus that prefers protobuf",
      `${protobuf};q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2`,
      open
    ],
    [
      "text for a Prometheus that is configured for text",
      `${protobuf};q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.1`,
      text
    ],
    [
      "text for a Prometheus older than OpenMetrics 1.0",
      "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
      text
    ],
    ["OpenMetrics without a version", "application/openmetrics-text", open],
    ["OpenMetrics if it is accepted together with any type", "*/*, application/openmetrics-text", open],
    ["OpenMetrics if text is rejected", "text/plain;q=0, */*;q=0.5", open],
    [
      "OpenMetrics in any case and spacing",
      ' Application/OpenMetrics-Text ; Version="1.0.0" ; Q=1 , text/plain;q=0.9',
      open
    ],
    ["text if both are accepted equally", "application/openmetrics-text, text/plain", text],
    ["text if it has a higher quality", "application/openmetrics-text;q=0.1, text/*;q=0.2", text],
    [
      "OpenMetrics if text/plain has a low quality, even with a wildcard",
      "text/plain;q=0.1, text/*, application/*;q=0.2",
      open
    ],
    ["OpenMetrics with an invalid quality", "application/openmetrics-text;q=much, text/plain;q=0.9", open],
    ["text with an invalid quality if both are accepted", "application/openmetrics-text;q=1, text/plain;q=many", text],
    ["text with an invalid quality", "application/openmetrics-text;q=0.5, text/plain;q=much", text]
  ]
  for (const [what, header, wanted] of cases) {
    test(what, () => {
      expect(Accept.preferred(header, [text, open])).toBe(wanted)
    })
  }
})
