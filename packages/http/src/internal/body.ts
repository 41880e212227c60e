/** Collects a body in one buffer. */
import { maxBodyBytes, maxBodyPieces, maxSwallowedBytes } from "../Message.ts"
import { Fragmented, type Refusal } from "../Refusal.ts"

const most = maxBodyBytes + 1

/** Collects the pieces of a body up to one byte over the limit. Copies them, so that Node's objects can be freed. */
export class Body {
  /** The first piece itself, since most bodies have only one. From the second piece on, an own buffer. */
  private buffer: Uint8Array = new Uint8Array()
  private size = 0
  private received = 0
  private pieces = 0

  /** Adds the next piece. Returns whether to read on. */
  add(piece: Uint8Array): boolean {
    this.pieces++
    this.received += piece.byteLength
    const part = piece.subarray(0, most - this.size)
    const end = this.size + part.byteLength
    if (this.size === 0) this.buffer = part
    else if (part.byteLength > 0) {
      if (end > this.buffer.byteLength) this.grow(end)
      this.buffer.set(part, this.size)
    }
    this.size = end
    return this.received <= maxSwallowedBytes && this.refusal === undefined
  }

  /** The received bytes, at most `maxBodyBytes + 1`. */
  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.size)
  }

  /** The reason why the body is refused without reading it. */
  get refusal(): Refusal | undefined {
    return this.pieces > maxBodyPieces ? fragmented : undefined
  }

  private grow(size: number): void {
    const larger = new Uint8Array(Math.min(most, Math.max(1024, 2 * size)))
    larger.set(this.bytes)
    this.buffer = larger
  }
}

const fragmented = new Fragmented({ most: maxBodyPieces })
