/** How many streams of hints there are: each keeps a connection open, so there are not as many as somebody likes. */
import { LIMITS } from '../../config/limits.js';

export class LiveStreams {
  private readonly byInstance = new Map<string, number>();
  private all = 0;

  /** Null when there are as many as there may be; else the function that says that it is over. */
  open(instanceId: string): (() => void) | null {
    const ofInstance = this.byInstance.get(instanceId) ?? 0;
    if (ofInstance >= LIMITS.maxLiveStreams || this.all >= LIMITS.maxLiveStreamsInAll) return null;
    this.byInstance.set(instanceId, ofInstance + 1);
    this.all++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.all--;
      const left = (this.byInstance.get(instanceId) ?? 1) - 1;
      if (left === 0) this.byInstance.delete(instanceId);
      else this.byInstance.set(instanceId, left);
    };
  }
}
