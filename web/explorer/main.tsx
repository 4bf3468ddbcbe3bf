/** The explorer: shows the chain as a storage node has it. */

import { render } from 'preact';
import '../shared/styles/index.css';
import './explorer.css';
import { applyStoredTheme } from '../shared/theme.js';
import { Explorer } from './explorer.js';

applyStoredTheme();
const root = document.getElementById('app');
if (root !== null) render(<Explorer />, root);
