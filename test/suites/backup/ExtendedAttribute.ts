/** Reads and writes the extended attribute `user.test` of a file with the C library. */
import { dlopen, FFIType } from "bun:ffi"

const { i32, i64, ptr, u64 } = FFIType

const { symbols } = dlopen(`libc.${process.platform === "darwin" ? "dylib" : "so.6"}`, {
  lsetxattr: { args: [ptr, ptr, ptr, u64, i32], returns: i32 },
  lgetxattr: { args: [ptr, ptr, ptr, u64], returns: i64 }
})

const text = (value: string): Uint8Array => Buffer.from(`${value}\0`)

const name = text("user.test")

/** Sets the attribute. Throws if the file system does not support extended attributes. */
export const set = (path: string, value: string): void => {
  const bytes = Buffer.from(value)
  if (symbols.lsetxattr(text(path), name, bytes, bytes.length, 0) !== 0) {
    throw new Error(`no extended attributes: ${path}`)
  }
}

/** Reads the attribute. Returns undefined if the file lacks the attribute. */
export const get = (path: string): string | undefined => {
  const bytes = Buffer.alloc(256)
  const length = Number(symbols.lgetxattr(text(path), name, bytes, bytes.length))
  return length < 0 ? undefined : bytes.toString("utf8", 0, length)
}
