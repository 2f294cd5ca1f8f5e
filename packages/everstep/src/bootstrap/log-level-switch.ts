/** Changes the level of the log while the server runs. */
import type { Logger } from 'pino';
import { LOG_LEVELS, type LogLevel } from '../config/log-levels.js';

const isMoreDetailed = (a: LogLevel, b: LogLevel): boolean => LOG_LEVELS.indexOf(a) < LOG_LEVELS.indexOf(b);

export class LogLevelSwitch {
  /** The configured level, which applies again after a restart. */
  readonly configured: LogLevel;
  private readonly log: Pick<Logger, 'level' | 'info'>;
  private currentLevel: LogLevel;

  constructor(log: Pick<Logger, 'level' | 'info'>, configured: LogLevel) {
    this.log = log;
    this.configured = configured;
    this.currentLevel = configured;
  }

  get level(): LogLevel {
    return this.currentLevel;
  }

  /** Sets the level immediately. `by` is the user who changes it, for the log entry. */
  set(level: LogLevel, by: string): void {
    const { log, currentLevel: previousLevel } = this;
    if (level === previousLevel) return;
    this.currentLevel = level;
    // The change is logged at the more detailed of the two levels.
    if (isMoreDetailed(level, previousLevel)) log.level = level;
    log.info({ newLevel: level, previousLevel, by }, 'log level changed');
    log.level = level;
  }

  /** Switches to `debug`, or back to the configured level. Returns the new level. */
  toggleDebug(by: string): LogLevel {
    const otherLevel = this.configured === 'debug' ? 'info' : this.configured;
    this.set(this.currentLevel === 'debug' ? otherLevel : 'debug', by);
    return this.currentLevel;
  }
}
