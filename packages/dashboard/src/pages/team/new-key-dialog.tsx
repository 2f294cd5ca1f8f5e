/** Shows a new API key. It is never shown again. */
import { CopyId } from '../../components/copy-id.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';

export interface NewKeyDialogProps {
  readonly title: string;
  readonly apiKey: string;
  readonly onClose: () => void;
}

export function NewKeyDialog({ title, apiKey, onClose }: NewKeyDialogProps) {
  return (
    <DialogWindow title={title} open onClose={onClose} actions={<DialogClose>Done</DialogClose>}>
      <div className="stack">
        <p>
          Save this key now: it is shown only once, because Everstep stores only its hash. Use it to sign in to the dashboard and
          to call the management API.
        </p>
        <CopyId value={apiKey} valueName="API key" />
      </div>
    </DialogWindow>
  );
}
