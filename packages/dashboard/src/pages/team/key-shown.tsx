/** An API key, the only time that it is shown. */
import { CopyId } from '../../components/copy-id.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';

export interface KeyShownProps {
  readonly title: string;
  readonly apiKey: string;
  readonly onClose: () => void;
}

export function KeyShown({ title, apiKey, onClose }: KeyShownProps) {
  return (
    <DialogWindow title={title} open onClose={onClose} actions={<DialogClose>I have it</DialogClose>}>
      <div className="stack">
        <p>
          It is shown this once; the service keeps only what it needs to recognise it. It logs in here, and to the management API.
        </p>
        <CopyId value={apiKey} what="API key" />
      </div>
    </DialogWindow>
  );
}
