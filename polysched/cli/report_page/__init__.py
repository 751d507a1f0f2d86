"""Pages about nests: code, dependences, trees and pictures, with links."""
