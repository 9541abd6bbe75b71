/** The wire format of protobuf: varints, fixed 64-bit values, and length-delimited parts. */

/** The error of bytes that are not a valid message. */
export class Malformed extends Error {}

/** Encodes the fields of a message into a growing buffer. */
export class Writer {
  private bytes = Buffer.allocUnsafe(1024)
  private length = 0

  /** Writes a varint. A negative number is encoded as its 64-bit two's complement. */
  varint(value: number | bigint): void {
    this.reserve(10)
    if (typeof value === "number" && value >= 0 && value < 0x80) {
      this.bytes[this.length++] = value
      return
    }
    let rest = BigInt.asUintN(64, BigInt(value))
    while (rest >= 0x80n) {
      this.bytes[this.length++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.bytes[this.length++] = Number(rest)
  }

  tag(number: number, wire: number): void {
    this.varint(number * 8 + wire)
  }

  double(value: number): void {
    this.reserve(8)
    this.length = this.bytes.writeDoubleLE(value, this.length)
  }

  /** Writes a UTF-8 string with its length. */
  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.varint(length)
    this.reserve(length)
    this.length += this.bytes.write(value, this.length)
  }

  /** Writes bytes with their length. */
  part(value: Uint8Array): void {
    this.varint(value.length)
    this.raw(value)
  }

  /** Writes bytes without their length. */
  raw(value: Uint8Array): void {
    this.reserve(value.length)
    this.bytes.set(value, this.length)
    this.length += value.length
  }

  /** Writes the output of `write`, preceded by its length. */
  nested(write: () => void): void {
    const start = this.length
    write()
    const size = this.length - start
    const prefix = size < 0x80 ? 1 : size < 0x4000 ? 2 : size < 0x200000 ? 3 : size < 0x10000000 ? 4 : 5
    this.reserve(prefix)
    this.bytes.copyWithin(start + prefix, start, this.length)
    this.length = start
    this.varint(size)
    this.length = start + prefix + size
  }

  /** Returns the written bytes. */
  finish(): Buffer {
    return this.bytes.subarray(0, this.length)
  }

  private reserve(size: number): void {
    if (this.length + size <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + size))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }
}

/** The wire types by number. */
export const wire = { varint: 0, fixed64: 1, part: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const

/** Reads the bytes of one message. `name` is the message type for error messages. Each method throws `Malformed`. */
export class Reader {
  private readonly bytes: Buffer
  private position = 0

  private readonly name: string

  constructor(bytes: Uint8Array, name = "") {
    this.name = name
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  get ended(): boolean {
    return this.position >= this.bytes.length
  }

  /** Reads an unsigned 64-bit varint. */
  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 64n; shift += 7n) {
      const byte = this.bytes[this.position++]
      if (byte === undefined) throw new Malformed("unexpected EOF")
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new Malformed("proto: integer overflow")
  }

  /** Reads the number and wire type of a field. */
  tag(): { readonly number: number; readonly wire: number } {
    const tag = BigInt.asUintN(35, this.varint())
    const [number, type] = [Number(BigInt.asIntN(32, tag >> 3n)), Number(tag & 7n)]
    if (type === wire.endGroup) throw new Malformed(`proto: ${this.name}: wiretype end group for non-group`)
    if (number <= 0) throw new Malformed(`proto: ${this.name}: illegal tag ${number} (wire type ${type})`)
    return { number, wire: type }
  }

  double(): number {
    return this.take(8).readDoubleLE()
  }

  /** Reads the bytes of a length-delimited part. */
  part(): Buffer {
    const length = this.varint()
    if (length > 0x7fffffffn) throw new Malformed("proto: negative length found during unmarshaling")
    return this.take(Number(length))
  }

  /** Skips the value of an unknown field. */
  skip(type: number): void {
    let depth = 0
    for (let next = type; ; next = Number(this.varint() & 7n)) {
      if (next === wire.varint) this.varint()
      else if (next === wire.fixed64) this.take(8)
      else if (next === wire.part) this.part()
      else if (next === wire.fixed32) this.take(4)
      else if (next === wire.startGroup) depth++
      else if (next === wire.endGroup && depth === 0) throw new Malformed("proto: unexpected end of group")
      else if (next === wire.endGroup) depth--
      else throw new Malformed(`proto: illegal wireType ${next}`)
      if (depth === 0) return
    }
  }

  private take(length: number): Buffer {
    const end = this.position + length
    if (end > this.bytes.length) throw new Malformed("unexpected EOF")
    const part = this.bytes.subarray(this.position, end)
    this.position = end
    return part
  }
}
