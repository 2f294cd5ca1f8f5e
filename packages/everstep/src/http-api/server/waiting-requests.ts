/** Aborts waiting requests when their client disconnects, and all of them when the server closes. */
import type { FastifyReply } from 'fastify';

export class WaitingRequests {
  private readonly waiting = new Set<AbortController>();
  private closed = false;

  signalOf(reply: FastifyReply): AbortSignal {
    const controller = new AbortController();
    this.waiting.add(controller);
    reply.raw.once('close', () => {
      this.waiting.delete(controller);
      // After its response a request needs no abort, which would create an error object with a stack.
      if (!reply.raw.writableFinished) controller.abort();
    });
    if (this.closed || reply.raw.destroyed) controller.abort();
    return controller.signal;
  }

  close(): void {
    this.closed = true;
    for (const controller of this.waiting) controller.abort();
  }
}
