/** The page at /v1/docs: the routes of the node that serves it, to read and to try. */

import { render } from 'preact';
import '../shared/styles/index.css';
import './docs.css';
import { applyStoredTheme } from '../shared/theme.js';
import { DocsSite } from './docs-site.js';

applyStoredTheme();
const root = document.getElementById('app');
if (root !== null) render(<DocsSite />, root);
