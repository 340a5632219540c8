printf "<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n" > page.pt
pt2onnx page.pt
