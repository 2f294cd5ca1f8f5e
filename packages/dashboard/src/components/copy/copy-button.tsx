/** Button that copies a text. All copying in the dashboard goes through it. */
import { type MouseEvent, use, useEffect, useRef, useState } from 'react';
import { Icon } from '../icons.js';
import { InTableContext } from '../tables/in-table.js';
import { announce, toastInfo } from '../toasts.js';
import { copyText } from './copy-text.js';

export interface CopyButtonProps {
  readonly value: string;
  /** Kind of value, used in the label of the button and in messages: `Copy run id`. */
  readonly valueName: string;
  /** Visible text. Without it, the button is an icon. */
  readonly text?: string;
}

const SHOWN_MS = 1_500;

export function CopyButton({ value, valueName, text }: CopyButtonProps) {
  const [isCopied, setIsCopied] = useState(false);
  const timer = useRef<number | undefined>(undefined);
  const inTable = use(InTableContext);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const copy = async (event: MouseEvent<HTMLButtonElement>) => {
    event.stopPropagation();
    const hasCopied = await copyText(value, event.currentTarget);
    if (!hasCopied) return toastInfo(`Couldn't copy ${valueName}. Select the text and copy it with the keyboard.`);
    announce(`Copied ${valueName}`);
    setIsCopied(true);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setIsCopied(false), SHOWN_MS);
  };
  return (
    <button
      type="button"
      className={text === undefined ? 'copy-button' : 'button button-quiet button-small'}
      aria-label={`Copy ${valueName}`}
      onClick={copy}
      tabIndex={inTable ? -1 : 0}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
      {text}
    </button>
  );
}
