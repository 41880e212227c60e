/** Collects a body in one buffer. */
import { maxBodyBytes, maxBodyPieces, maxSwallowedBytes } from "../Message.ts"
import { Fragmented, type Refusal } from "../Refusal.ts"

const most = maxBodyBytes + 1

/** Collects the pieces of a body, cut one byte behind the limit. Every object that Node makes of a piece is let go. */
export class Body {
  /** The first piece itself, since most bodies have only one; from the second on a buffer of its own. */
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

  /** Why the body is not read, whatever it says. */
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
