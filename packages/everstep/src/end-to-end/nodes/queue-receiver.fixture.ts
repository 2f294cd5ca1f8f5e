/** An endpoint that records the deliveries of queues and checks their order. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Endpoint, listen } from '../nodes.fixture.js';

interface QueueProgress {
  readonly seen: Set<number>;
  readonly overtaken: Set<number>;
  /** Numbers of messages with a successful response. */
  readonly answered: Set<number>;
  /** Number below which all messages had a successful response. */
  answeredBelow: number;
  readonly inFlight: Set<{ readonly number: number; readonly isStale: boolean }>;
}

export interface QueueReceiverOptions {
  /** Duration of one delivery. */
  readonly workMs: number;
  /** Whether the first delivery of a message fails. */
  readonly fails: (number: number) => boolean;
}

/** Accepts messages with body `<queue>:<number>`. Each queue is numbered from 0 without gaps. */
export class QueueReceiver {
  /** Messages delivered for the first time before an older one of their queue succeeded. */
  readonly overtaken: string[] = [];
  /** Number of overtaken messages. */
  overtakenCount = 0;
  /** Concurrent deliveries of two messages of a queue, except repeats of completed messages. */
  readonly overlaps: string[] = [];
  deliveries = 0;
  /** Number of repeated deliveries of completed messages. */
  repeats = 0;
  private endpoint: Endpoint | null = null;
  private readonly progressByQueue = new Map<string, QueueProgress>();
  private readonly options: QueueReceiverOptions;

  private constructor(options: QueueReceiverOptions) {
    this.options = options;
  }

  static async listen(options: QueueReceiverOptions): Promise<QueueReceiver> {
    const receiver = new QueueReceiver(options);
    receiver.endpoint = await listen((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', async () => {
        response.statusCode = await receiver.receive(body);
        response.end();
      });
    });
    return receiver;
  }

  get url(): string {
    return this.endpoint?.url ?? '';
  }

  /** Returns how many messages of the queue, from the first one on, succeeded. */
  answered(queue: string): number {
    return this.progressOf(queue).answeredBelow;
  }

  close(): void {
    this.endpoint?.close();
  }

  private progressOf(queue: string): QueueProgress {
    let progress = this.progressByQueue.get(queue);
    if (!progress) {
      progress = { seen: new Set(), overtaken: new Set(), answered: new Set(), answeredBelow: 0, inFlight: new Set() };
      this.progressByQueue.set(queue, progress);
    }
    return progress;
  }

  /** Receives a message. Resolves with the response status. */
  private async receive(body: string): Promise<number> {
    const [queue = '', text] = body.split(':');
    const number = Number(text);
    const progress = this.progressOf(queue);
    const isFirst = !progress.seen.has(number);
    const delivery = { number, isStale: progress.answered.has(number) };
    this.deliveries++;
    if (delivery.isStale) this.repeats++;
    if (isFirst && progress.answeredBelow < number) {
      this.overtaken.push(`${queue}:${progress.answeredBelow} by ${body}`);
      for (let older = progress.answeredBelow; older < number; older++) {
        if (progress.answered.has(older) || progress.overtaken.has(older)) continue;
        progress.overtaken.add(older);
        this.overtakenCount++;
      }
    }
    progress.seen.add(number);
    for (const other of progress.inFlight) {
      // A repeated request, or one sent before its node was paused, may overlap with the next message.
      if (other.number !== number && !other.isStale && !delivery.isStale)
        this.overlaps.push(`${queue}:${other.number} and ${body}`);
    }
    progress.inFlight.add(delivery);
    await pause(this.options.workMs);
    progress.inFlight.delete(delivery);
    if (isFirst && this.options.fails(number)) return 500;
    progress.answered.add(number);
    while (progress.answered.has(progress.answeredBelow)) progress.answeredBelow++;
    return 200;
  }
}
