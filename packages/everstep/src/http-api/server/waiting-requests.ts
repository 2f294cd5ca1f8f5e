/** Aborts waiting requests when their client disconnects, and all of them when the server closes. */
import type { FastifyReply } from 'fastify';

export class WaitingRequests {
  private readonly controllers = new Set<AbortController>();
  private isClosed = false;

  signalOf(reply: FastifyReply): AbortSignal {
    const controller = new AbortController();
    this.controllers.add(controller);
    reply.raw.once('close', () => {
      this.controllers.delete(controller);
      // After its response a request needs no abort, which would create an error object with a stack.
      if (!reply.raw.writableFinished) controller.abort();
    });
    if (this.isClosed || reply.raw.destroyed) controller.abort();
    return controller.signal;
  }

  close(): void {
    this.isClosed = true;
    for (const controller of this.controllers) controller.abort();
  }
}
